export * from './draft.ts';
export * from './packet.ts';
export * from './tables.ts';
