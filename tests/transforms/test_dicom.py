"""DICOM: grey values follow the standard, and every fault of a file is named with what to do."""

from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.pixels import apply_modality_lut, apply_voi_lut, apply_windowing
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRLittleEndian,
    JPEGBaseline8Bit,
    RLELossless,
    SecondaryCaptureImageStorage,
    generate_uid,
)

from medfed.errors import BadFile
from medfed.transforms.dicom import age_years, is_dicom, read_dicom
from medfed.transforms.dicom_window import window_unit

OWN = Path(pydicom.__file__).parent / "data" / "test_files"


def write(path, pixels, *, syntax=ExplicitVRLittleEndian, bits=None, data=None, **attributes):
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = syntax
    dataset = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    dataset.SOPClassUID = SecondaryCaptureImageStorage
    dataset.Rows, dataset.Columns = pixels.shape[-2:]
    dataset.SamplesPerPixel = 1
    dataset.PhotometricInterpretation = "MONOCHROME2"
    dataset.BitsAllocated = 8 * pixels.dtype.itemsize
    dataset.BitsStored = bits or dataset.BitsAllocated
    dataset.HighBit = dataset.BitsStored - 1
    dataset.PixelRepresentation = int(pixels.dtype.kind == "i")
    dataset.PixelData = pixels.tobytes() if data is None else data
    dataset["PixelData"].VR = "OB" if pixels.dtype.itemsize == 1 else "OW"
    for name, value in attributes.items():
        setattr(dataset, name, value)
    if syntax == RLELossless:
        dataset.compress(RLELossless, arr=pixels, generate_instance_uid=False)
    dataset.save_as(path, enforce_file_format=True)
    return path


@pytest.fixture
def grey8():
    return np.random.default_rng(0).integers(0, 256, (12, 10), np.uint8)


@pytest.fixture
def grey12():
    return np.random.default_rng(1).integers(0, 4096, (12, 10)).astype(np.uint16)


def test_eight_bits_keep_their_bytes(tmp_path, grey8):
    image = read_dicom(write(tmp_path / "a.dcm", grey8, PixelSpacing=[0.2, 0.3]))
    assert np.array_equal(image.pixels, grey8)
    assert image.white == 255
    assert image.spacing_mm == (0.2, 0.3)


def test_monochrome1_is_turned_so_that_bone_is_bright(tmp_path, grey8):
    path = write(tmp_path / "a.dcm", grey8, PhotometricInterpretation="MONOCHROME1")
    assert np.array_equal(read_dicom(path).pixels, 255 - grey8)


def test_a_window_gives_what_pydicom_gives(tmp_path, grey12):
    path = write(
        tmp_path / "a.dcm",
        grey12,
        bits=12,
        WindowCenter=1500,
        WindowWidth=900,
        RescaleSlope=2,
        RescaleIntercept=-100,
    )
    dataset = pydicom.dcmread(path)
    theirs = apply_windowing(apply_modality_lut(dataset.pixel_array, dataset), dataset)
    theirs = (theirs - theirs.min()) / (theirs.max() - theirs.min())
    assert np.allclose(read_dicom(path).pixels, theirs, atol=1e-4)


@pytest.mark.parametrize("function", ["LINEAR_EXACT", "SIGMOID"])
def test_the_other_two_window_functions_give_what_pydicom_gives(tmp_path, grey12, function):
    path = write(
        tmp_path / "a.dcm",
        grey12,
        bits=12,
        WindowCenter=2000,
        WindowWidth=1500,
        VOILUTFunction=function,
    )
    dataset = pydicom.dcmread(path)
    theirs = apply_windowing(dataset.pixel_array, dataset) / 4095
    assert np.allclose(read_dicom(path).pixels, theirs, atol=1e-3)


def test_a_window_of_width_one_is_a_threshold():
    assert window_unit(np.array([9.0, 10.0, 11.0]), 10, 1).tolist() == [0.0, 1.0, 1.0]


def test_without_a_window_the_tails_of_a_deep_image_are_black_and_white(tmp_path, grey12):
    unit = read_dicom(write(tmp_path / "a.dcm", grey12, bits=12)).pixels
    low, high = np.percentile(grey12, [0.1, 99.9])
    assert np.allclose(unit, np.clip((grey12 - low) / (high - low), 0, 1), atol=1e-5)


def test_padding_is_black_and_does_not_move_the_tails(tmp_path):
    pixels = np.full((8, 8), 500, np.int16)
    pixels[:, :4] = np.arange(32).reshape(8, 4) + 400
    pixels[0, 0] = -2000
    unit = read_dicom(write(tmp_path / "a.dcm", pixels, PixelPaddingValue=-2000)).pixels
    assert unit[0, 0] == 0
    assert unit[0, 1] < 0.05
    assert unit[7, 7] == pytest.approx(1)


def test_rows_and_columns_run_to_left_and_foot(tmp_path, grey8):
    path = write(tmp_path / "a.dcm", grey8, PatientOrientation=["R", "H"])
    image = read_dicom(path)
    assert np.array_equal(image.pixels, grey8[::-1, ::-1])
    assert image.orientation == "R\\H"
    path = write(tmp_path / "b.dcm", grey8, PatientOrientation=["L", "F"])
    assert np.array_equal(read_dicom(path).pixels, grey8)


@pytest.mark.parametrize("syntax", [DeflatedExplicitVRLittleEndian, RLELossless])
def test_deflated_and_run_length_files_read_as_the_plain_one(tmp_path, grey12, syntax):
    plain = read_dicom(write(tmp_path / "a.dcm", grey12, bits=12))
    packed = read_dicom(write(tmp_path / "b.dcm", grey12, bits=12, syntax=syntax))
    assert np.array_equal(packed.pixels, plain.pixels)


def test_a_baseline_jpeg_reads_as_pillow_reads_it(tmp_path, grey8):
    import io

    from PIL import Image
    from pydicom.encaps import encapsulate

    buffer = io.BytesIO()
    Image.fromarray(grey8).save(buffer, "JPEG", quality=90)
    path = write(
        tmp_path / "a.dcm", grey8, syntax=JPEGBaseline8Bit, data=encapsulate([buffer.getvalue()])
    )
    assert np.array_equal(read_dicom(path).pixels, np.asarray(Image.open(buffer)))


def test_pixel_data_of_odd_length_without_its_padding_byte(tmp_path):
    pixels = np.arange(15, dtype=np.uint8).reshape(5, 3)
    path = write(tmp_path / "a.dcm", pixels)
    data = path.read_bytes()
    where = data.rindex(pixels.tobytes())
    length = int.from_bytes(data[where - 4 : where], "little")
    cut = data[: where - 4] + (15).to_bytes(4, "little") + pixels.tobytes()
    path.write_bytes(cut)
    assert length in (15, 16)
    assert np.array_equal(read_dicom(path).pixels, pixels)


@pytest.mark.parametrize(
    ("text", "years"),
    [("062Y", 62), ("62", 62), ("018M", 1.5), ("", None), (None, None), ("old", None)],
)
def test_ages_as_real_files_write_them(text, years):
    assert age_years(text) == years


def test_missing_spacing_is_none_and_a_detector_spacing_counts(tmp_path, grey8):
    assert read_dicom(write(tmp_path / "a.dcm", grey8)).spacing_mm is None
    assert read_dicom(
        write(tmp_path / "b.dcm", grey8, ImagerPixelSpacing=[0.1, 0.1])
    ).spacing_mm == (0.1, 0.1)


def damage(path, how, pixels):
    if how == "no pixels":
        write(path, pixels)
        dataset = pydicom.dcmread(path)
        del dataset.PixelData
        dataset.save_as(path)
    elif how == "frames":
        write(path, pixels, NumberOfFrames=3, data=pixels.tobytes() * 3)
    elif how == "segmentation":
        write(path, pixels, Modality="SEG")
    elif how == "truncated":
        write(path, pixels, data=pixels.tobytes()[:40])
    elif how == "huge header":
        write(path, pixels, Rows=60_000, Columns=60_000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("not dicom at all, but long enough to hold a preamble " * 10)
    return path


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no pixels", "no PixelData"),
        ("frames", "3 frames.*dcm2niix"),
        ("segmentation", "segmentation object"),
        ("truncated", "cannot be decoded"),
        ("huge header", "60000 x 60000"),
        ("empty", "0 bytes"),
        ("text", "no readable DICOM"),
        ("missing", "is missing"),
    ],
)
def test_a_fault_is_named_with_its_remedy_and_nothing_leaves(tmp_path, grey8, how, says):
    path = damage(tmp_path / "patient-77.dcm", how, grey8)
    with pytest.raises(BadFile, match=says) as caught:
        read_dicom(path)
    assert "patient-77" in caught.value.local
    assert caught.value.upstream == BadFile.sentence


def test_a_wrong_value_representation_is_named(tmp_path):
    with pytest.raises(BadFile, match=r"badVR\.dcm"):
        read_dicom(OWN / "badVR.dcm")


def test_pydicoms_own_odd_files_give_an_image_or_a_bad_file():
    paths = sorted(OWN.rglob("*.dcm"))
    assert len(paths) > 40
    read = 0
    for path in paths:
        try:
            image = read_dicom(path)
        except BadFile:
            continue
        read += 1
        assert image.scaled().min() >= 0
        assert image.scaled().max() <= 1
    assert read > 25


def test_a_file_without_suffix_is_dicom_by_its_magic(tmp_path, grey8):
    write(tmp_path / "IM0001", grey8)
    (tmp_path / "README").write_text("x" * 200)
    assert is_dicom(tmp_path / "IM0001")
    assert not is_dicom(tmp_path / "README")


def test_the_real_rsna_file_and_its_inverted_twin(real_data):
    folder = real_data / "rsna_pneumonia" / "original"
    plain = read_dicom(folder / "16d7f894-55d7-4d95-8957-d18987f0e981.dcm")
    twin = read_dicom(folder / "Fake_MONOHR1.dcm")
    assert np.array_equal(plain.pixels, 255 - twin.pixels)
    assert plain.spacing_mm == (0.168, 0.168)


def test_real_jpeg_2000_of_ten_bits_by_hand(real_data):
    path = real_data / "dicom" / "cr_leg_mono1_10bit_j2k_lossless.dcm"
    stored = pydicom.dcmread(path).pixel_array.astype(float)
    theirs = 1 - np.clip(
        (stored - (550 - 0.5)) / (pydicom.dcmread(path).WindowWidth - 1) + 0.5, 0, 1
    )
    assert np.allclose(read_dicom(path).pixels, theirs[:, ::-1], atol=1e-5)


def test_a_real_voi_lut_by_pydicom(real_data):
    path = real_data / "dicom" / "vlut.dcm"
    dataset = pydicom.dcmread(path)
    theirs = apply_voi_lut(dataset.pixel_array, dataset)
    bits = dataset.VOILUTSequence[0].LUTDescriptor[2]
    assert np.allclose(read_dicom(path).pixels, theirs / (2**bits - 1), atol=1e-5)


def test_every_real_oddity_is_read_or_refused(real_data):
    verdicts = {}
    for path in sorted((real_data / "dicom").glob("*.dcm")):
        try:
            verdicts[path.stem] = read_dicom(path).pixels.shape
        except BadFile as error:
            verdicts[path.stem] = error.local
    assert "10 frames" in verdicts["emri_multiframe_rle"]
    assert "segmentation" in verdicts["liver_seg"]
    assert verdicts["mr_12bit_j2k"] == (1024, 1024)
