import { appendFileSync } from 'node:fs';
import { expect } from '@jest/globals';

/** Set by `npm run test:campaigns`: the file to which each used size is added, one JSON object a line. */
const report = process.env['CAMPAIGN_REPORT'];
const isCampaign = report !== undefined;
/** Default factor of a campaign. */
const factor = 20;
const extraMs = 3 * 60 * 60 * 1000;

interface CampaignSizes {
  /** Unit of the repetitions, in the plural: `examples of a property`. */
  readonly what: string;
  readonly normal: number;
  /** Size of a campaign. Default: twenty times the normal one. */
  readonly long?: number;
  /** Name of an environment variable that overrides both. */
  readonly setting?: string;
}

/** Returns the repetitions of a test: the normal size in `npm test`, the long one in `npm run test:campaigns`. */
export function campaignSize({ what, normal, long = normal * factor, setting }: CampaignSizes): number {
  const override = setting === undefined ? undefined : process.env[setting];
  const size = override === undefined ? (isCampaign ? long : normal) : Number(override);
  const { testPath } = expect.getState();
  if (report !== undefined) appendFileSync(report, `${JSON.stringify({ file: testPath, what, normal, size })}\n`);
  return size;
}

/** Returns the time-out of a test with campaign sizes: hours more in a campaign. */
export const campaignTimeoutMs = (normalMs: number): number => (isCampaign ? normalMs + extraMs : normalMs);
