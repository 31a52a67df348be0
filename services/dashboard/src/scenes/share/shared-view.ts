import type { components } from '@fleet/api-client';

/** What a share link shows. */
export type SharedView = components['schemas']['SharedView'];
export type SharedStream = components['schemas']['SharedStream'];
