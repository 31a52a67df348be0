export { updateMedia as changeMedia } from './store.ts';
