export { startTracing, stopTracing } from '../tracing/start-tracing.ts';
export { compileSchemas } from './compile-schemas.ts';
