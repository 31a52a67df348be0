export { knownPoints } from './known-points.ts';
