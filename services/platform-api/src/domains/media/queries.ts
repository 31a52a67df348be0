export { findByKey, findByKeys, findRemoval } from './store.ts';
