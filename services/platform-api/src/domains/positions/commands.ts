export { appendPositions, type DroppedPoints } from './bucket-writer.ts';
