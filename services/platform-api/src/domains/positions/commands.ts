export { appendPositions, type DroppedPoints as LeftOut } from './store.ts';
