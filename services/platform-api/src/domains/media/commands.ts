export { changeMedia } from './store.ts';
