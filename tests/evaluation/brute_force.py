"""The metrics once more, by definition and without regard for time; written apart from the package."""

import itertools
import math

import numpy as np

INF = math.inf


def surface(mask):
    """Foreground places with a face neighbour in the background; beyond the image is background."""
    points = {tuple(p) for p in np.argwhere(np.asarray(mask) != 0).tolist()}
    found = []
    for p in sorted(points):
        for axis, step in itertools.product(range(len(p)), (-1, 1)):
            if (*p[:axis], p[axis] + step, *p[axis + 1 :]) not in points:
                found.append(p)
                break
    return np.array(found, dtype=float).reshape(-1, np.ndim(mask))


def directed(one, other, spacing):
    scale = np.asarray(spacing, dtype=float)
    if not len(other):
        return np.full(len(one), INF)
    gaps = (one[:, None, :] - other[None, :, :]) * scale
    return np.sqrt((gaps**2).sum(axis=2)).min(axis=1) if len(one) else np.empty(0)


def distances(pred, ref, spacing=None):
    spacing = spacing or (1,) * np.ndim(pred)
    one, other = surface(pred), surface(ref)
    return directed(one, other, spacing), directed(other, one, spacing)


def hausdorff(pred, ref, percentile=100, spacing=None, definition="max"):
    to_ref, to_pred = distances(pred, ref, spacing)
    if definition == "pooled":
        return np.percentile(np.concatenate([to_ref, to_pred]), percentile)
    return max(np.percentile(to_ref, percentile), np.percentile(to_pred, percentile))


def objects(labels):
    return {
        int(i): {tuple(p) for p in np.argwhere(labels == i).tolist()}
        for i in np.unique(labels)
        if i
    }


def iou(a, b):
    return len(a & b) / len(a | b)


def aji(pred, ref, definition):
    preds, refs = objects(pred), objects(ref)
    pairs = [
        (r, p, iou(preds[p], refs[r]))
        for r in sorted(refs)
        for p in sorted(preds)
        if preds[p] & refs[r]
    ]
    chosen = []
    if definition == "kumar":
        for r in sorted(refs):
            own = [x for x in pairs if x[0] == r]
            chosen += [max(own, key=lambda x: (x[2], -x[1]))] if own else []
    elif definition == "aji_plus":
        from scipy.optimize import linear_sum_assignment

        rs, ps = sorted(refs), sorted(preds)
        table = np.array([[iou(preds[p], refs[r]) for p in ps] for r in rs]).reshape(
            len(rs), len(ps)
        )
        plan = zip(*linear_sum_assignment(-table), strict=True)
        chosen = [(rs[i], ps[j], table[i, j]) for i, j in plan if table[i, j]]
    else:
        order = (
            pairs if definition == "greedy" else sorted(pairs, key=lambda x: (-x[2], x[0], x[1]))
        )
        if definition == "greedy":
            order = sorted(pairs, key=lambda x: (x[0], -x[2], x[1]))
        used_r, used_p = set(), set()
        for r, p, value in order:
            if r not in used_r and p not in used_p:
                chosen.append((r, p, value))
                used_r.add(r)
                used_p.add(p)
    if not preds and not refs:
        return math.nan
    shared = sum(len(preds[p] & refs[r]) for r, p, _ in chosen)
    union = sum(len(preds[p] | refs[r]) for r, p, _ in chosen)
    union += sum(len(refs[r]) for r in refs if r not in {c[0] for c in chosen})
    union += sum(len(preds[p]) for p in preds if p not in {c[1] for c in chosen})
    return shared / union


def partner(own, others, by):
    best, best_id = 0, None
    for i in sorted(others):
        value = len(own & others[i]) if by == "overlap" else iou(own, others[i])
        if value > best:
            best, best_id = value, i
    return best_id


def object_dice(pred, ref, by="overlap"):
    preds, refs = objects(pred), objects(ref)
    if not preds and not refs:
        return math.nan
    total = 0.0
    for own, others in ((preds, refs), (refs, preds)):
        area = sum(map(len, own.values()))
        for a in own.values():
            i = partner(a, others, by)
            if i is not None:
                total += len(a) / area * 2 * len(a & others[i]) / (len(a) + len(others[i]))
    return total / 2


def region_hausdorff(a, b, spacing):
    one, other = np.array(sorted(a), float), np.array(sorted(b), float)
    return max(directed(one, other, spacing).max(), directed(other, one, spacing).max())


def object_hausdorff(pred, ref, spacing, by="overlap"):
    preds, refs = objects(pred), objects(ref)
    total = 0.0
    for own, others in ((preds, refs), (refs, preds)):
        area = sum(map(len, own.values()))
        for a in own.values():
            i = partner(a, others, by)
            near = others.values() if i is None else [others[i]]
            total += len(a) / area * min(region_hausdorff(a, b, spacing) for b in near)
    return total / 2


def panoptic(pred, ref, threshold=0.5):
    preds, refs = objects(pred), objects(ref)
    found = [iou(a, b) for a in preds.values() for b in refs.values() if iou(a, b) > threshold]
    tp = len(found)
    dq = tp / (tp + (len(preds) - tp) / 2 + (len(refs) - tp) / 2)
    sq = sum(found) / tp if tp else 0.0
    return dq * sq, dq, sq, tp, len(preds) - tp, len(refs) - tp


def auroc(scores, targets):
    pos = [s for s, t in zip(scores, targets, strict=True) if t == 1]
    neg = [s for s, t in zip(scores, targets, strict=True) if t == 0]
    if not pos or not neg:
        return math.nan
    return sum((a > b) + 0.5 * (a == b) for a in pos for b in neg) / (len(pos) * len(neg))


def blobs(rng, shape, smooth, level=0.0):
    """A random mask, from noise (smooth 0) to round blobs."""
    from scipy.ndimage import gaussian_filter

    field = gaussian_filter(rng.standard_normal(shape), smooth)
    return field > level * field.std()


def instances(rng, shape, smooth=1.5, level=0.5):
    """A random instance map whose ids have gaps and come in no order."""
    from scipy.ndimage import label

    labels, count = label(blobs(rng, shape, smooth, level))
    ids = np.append(0, rng.choice(np.arange(1, 10 * count + 2), size=count, replace=False))
    return ids[labels]


def shifted(rng, labels):
    """The same map moved by a pixel or two, some objects lost, some split."""
    moved = np.roll(labels, rng.integers(-2, 3, labels.ndim), axis=tuple(range(labels.ndim)))
    for i in np.unique(moved)[1:]:
        if rng.random() < 0.15:
            moved[moved == i] = 0
        elif rng.random() < 0.2:
            places = np.argwhere(moved == i)
            half = places[places[:, 0] > places[:, 0].mean()]
            moved[tuple(half.T)] = moved.max() + 1
    return moved
