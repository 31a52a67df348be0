export { appendPositions, type LeftOut } from './store.ts';
