import type { ExampleValues } from '@fleet/service-kit';
import { fieldValues } from './field-values.ts';
import { recordNames } from './record-names.ts';
import { recordValues } from './record-values.ts';
import { requestBodies } from './request-bodies.ts';
import { settingValues } from './setting-values.ts';

/** Example values of the Platform API's document; all of them describe one vehicle on one day. */
export const exampleValues: ExampleValues = {
  ...fieldValues,
  ...recordNames,
  ...recordValues,
  ...settingValues,
  ...requestBodies,
};
