export { findByKey, findByKeys, findIdsWithThumbnail, findRemoval } from './store.ts';
