export { allStoredStates, readStates, readStatesOfRedis } from './state-store.ts';
