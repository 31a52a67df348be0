import type { components } from '@fleet/api-client';

/** A clip that was requested from a camera. */
export type Download = components['schemas']['Download'];
