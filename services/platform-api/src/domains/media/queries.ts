export { findByKey, findByKeys, findIdsWithThumbnail, findRemoval, findTakenTimes } from './store.ts';
