import { type Bus, findDataLimit as findLimitRequest, serve } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { findDataLimit } from './use-cases.ts';

/** Serves `platform-api.find-data-limit`. */
export const serveDataLimits = (
  bus: Bus,
  deps: Pick<Deps, 'database' | 'records'>,
  onError: (error: unknown) => void,
): Running => serve(bus, findLimitRequest, { queue: 'platform-api', onError }, ({ imei }) => findDataLimit(deps, imei));
