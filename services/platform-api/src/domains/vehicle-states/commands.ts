export {
  deletePreviousState,
  deleteTerminalState,
  restoreStates,
  storeStates,
  writeStates as writeBatchStates,
} from './state-store.ts';
