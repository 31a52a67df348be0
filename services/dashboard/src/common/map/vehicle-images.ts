import type { Map as MapLibreMap } from 'maplibre-gl';
import { vehicleStates } from '../live/protocol.ts';
import type { ThemeColors } from '../theme/tokens.ts';
import { statePaths, stateTokens } from '../ui/marks.tsx';

const markSize = 24;
const pixelRatio = 2;
const casingWidth = 2.5;

/** Draws the mark of a state with a casing in the colour of the surface, so that it stands out on every base map. */
function drawMark(path: string, color: string, casing: string): ImageData {
  const canvas = document.createElement('canvas');
  canvas.width = markSize * pixelRatio;
  canvas.height = markSize * pixelRatio;
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('The browser has no 2D canvas.');
  context.scale(pixelRatio, pixelRatio);
  const shape = new Path2D(path);
  context.lineWidth = casingWidth;
  context.lineJoin = 'round';
  context.strokeStyle = casing;
  context.stroke(shape);
  context.fillStyle = color;
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- a canvas, not an array
  context.fill(shape, 'evenodd');
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

/** Adds one image for each state of a vehicle, named `vehicle-<state>`. */
export function addVehicleImages(map: MapLibreMap, colors: ThemeColors): void {
  for (const state of vehicleStates) {
    const name = `vehicle-${state}`;
    const image = drawMark(statePaths[state], colors[stateTokens[state]], colors.surface);
    if (map.hasImage(name)) map.updateImage(name, image);
    else map.addImage(name, image, { pixelRatio });
  }
}
