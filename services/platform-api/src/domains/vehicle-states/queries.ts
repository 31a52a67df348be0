export { allStoredStates, readStates, readStatesOfRedis, readStoredStates } from './state-store.ts';
