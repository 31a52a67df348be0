import type { components } from '@fleet/api-client';

export type Vehicle = components['schemas']['Vehicle'];
