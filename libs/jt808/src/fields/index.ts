export * from './field.ts';
export * from './integers.ts';
export * from './structure.ts';
export * from './text.ts';
