import type { components } from '@fleet/api-client';

export type EventRecord = components['schemas']['Notification'];
