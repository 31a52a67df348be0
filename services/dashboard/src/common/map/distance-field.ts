const infinity = 1e20;

/**
 * Returns the signed distance of each pixel to the edge of a shape, in pixels: positive inside. `coverage` has the part
 * of each pixel that the shape covers, 0 to 1.
 */
export function computeDistances(coverage: Float64Array, size: number): Float64Array {
  const outside = Float64Array.from(coverage, (part) =>
    part >= 1 ? 0 : part <= 0 ? infinity : Math.max(0, 0.5 - part) ** 2,
  );
  const inside = Float64Array.from(coverage, (part) =>
    part >= 1 ? infinity : part <= 0 ? 0 : Math.max(0, part - 0.5) ** 2,
  );
  transform(outside, size);
  transform(inside, size);
  return outside.map((distance, index) => Math.sqrt(inside[index] ?? 0) - Math.sqrt(distance));
}

/** Replaces each value by the smallest sum of a value and its squared distance (Felzenszwalb and Huttenlocher). */
function transform(grid: Float64Array, size: number): void {
  for (let x = 0; x < size; x += 1) transformLine(grid, x, size, size);
  for (let y = 0; y < size; y += 1) transformLine(grid, y * size, 1, size);
}

function transformLine(grid: Float64Array, offset: number, stride: number, length: number): void {
  const values = Float64Array.from({ length }, (_, at) => grid[offset + at * stride] ?? 0);
  const parabolas = new Int32Array(length);
  const borders = new Float64Array(length + 1);
  borders[0] = -infinity;
  borders[1] = infinity;
  let last = 0;
  for (let at = 1; at < length; at += 1) {
    let border = intersect(values, parabolas[last] ?? 0, at);
    while (border <= (borders[last] ?? 0) && last > 0) {
      last -= 1;
      border = intersect(values, parabolas[last] ?? 0, at);
    }
    if (border > (borders[last] ?? 0)) last += 1;
    parabolas[last] = at;
    borders[last] = border;
    borders[last + 1] = infinity;
  }
  let current = 0;
  for (let at = 0; at < length; at += 1) {
    while ((borders[current + 1] ?? infinity) < at) current += 1;
    const from = parabolas[current] ?? 0;
    grid[offset + at * stride] = (values[from] ?? 0) + (at - from) ** 2;
  }
}

/** Returns where the parabolas of two positions meet. */
const intersect = (values: Float64Array, from: number, to: number): number =>
  ((values[to] ?? 0) - (values[from] ?? 0) + to ** 2 - from ** 2) / (2 * (to - from));
