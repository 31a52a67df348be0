export { hasForeignPositions } from './foreign-positions.ts';
export { knownPoints } from './known-points.ts';
