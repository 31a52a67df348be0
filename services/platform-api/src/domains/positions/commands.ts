export { appendPositions, type DroppedPoints } from './store.ts';
