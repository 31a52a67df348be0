import type { components } from '@fleet/api-client';

export type Vehicle = components['schemas']['Vehicle'];
export type Group = components['schemas']['VehicleGroup'];
export type Driver = components['schemas']['Driver'];
