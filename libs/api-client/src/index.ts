export { ApiFailure } from './api-failure.ts';
export { type Credentials, createPlatformClient, type PlatformClient } from './client.ts';
export type { components } from './platform-api.ts';
