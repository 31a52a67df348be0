export { findNotification } from './store.ts';
