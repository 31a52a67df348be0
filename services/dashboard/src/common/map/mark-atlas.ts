import { vehicleStates } from '../live/protocol.ts';
import { statePaths } from '../ui/marks.tsx';
import { computeDistances } from './distance-field.ts';
import { cellSize, fieldRange } from './mark-layout.ts';

/** Units of the paths on each side of the box, and the margin around it. */
const boxSize = 24;
const margin = 8;

/** Returns the shapes of all states side by side as signed distances: 128 is the edge, larger values are inside. */
export function createMarkAtlas(): { readonly data: Uint8Array; readonly width: number; readonly height: number } {
  const width = cellSize * vehicleStates.length;
  const data = new Uint8Array(width * cellSize);
  vehicleStates.forEach((state, index) => {
    const distances = computeDistances(drawCoverage(statePaths[state]), cellSize);
    distances.forEach((distance, at) => {
      const value = 128 + (distance / fieldRange) * 127;
      data[Math.floor(at / cellSize) * width + index * cellSize + (at % cellSize)] = Math.max(0, Math.min(255, value));
    });
  });
  return { data, width, height: cellSize };
}

/** Returns the part of each pixel that a path covers. */
function drawCoverage(path: string): Float64Array {
  const canvas = document.createElement('canvas');
  canvas.width = cellSize;
  canvas.height = cellSize;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error('The browser has no 2D canvas.');
  const scale = (cellSize - 2 * margin) / boxSize;
  context.translate(margin, margin);
  context.scale(scale, scale);
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- a canvas, not an array
  context.fill(new Path2D(path), 'evenodd');
  const { data } = context.getImageData(0, 0, cellSize, cellSize);
  return Float64Array.from({ length: cellSize * cellSize }, (_, at) => (data[at * 4 + 3] ?? 0) / 255);
}
