export { compileSchemas } from './compile-schemas.ts';
