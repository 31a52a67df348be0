export { ApiFailure, type FaultDetail } from './api-failure.ts';
export { type ClientOptions, type Credentials, createPlatformClient, type PlatformClient } from './client.ts';
export type { components, operations, paths } from './platform-api.ts';
