export { findByKey, findRemoval } from './store.ts';
