export { knownPoints } from './store.ts';
