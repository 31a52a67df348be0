export * from './edition.ts';
export * from './errors.ts';
export * from './frame.ts';
export * from './frame-splitter.ts';
export * from './general-reply.ts';
export * from './terminal-number.ts';
