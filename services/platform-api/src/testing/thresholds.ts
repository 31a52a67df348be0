import { readEnv } from '@fleet/service-kit';
import { readThresholds, thresholdSettings } from '../platform/thresholds.ts';

/** Thresholds without environment variables. */
export const defaultThresholds = readThresholds(readEnv(thresholdSettings, {}));
