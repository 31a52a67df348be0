export { ApiFailure } from './api-failure.ts';
export { type Credentials, createPlatformClient, type PlatformClient, toHeaders } from './client.ts';
export type { components } from './platform-api.ts';
