import { defineRoute } from '@fleet/service-kit';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { commandErrors } from '../routes/responses.ts';
import { wakeupResponse } from '../routes/wakeup.ts';
import { wakeUp } from '../use-cases/wake-up.ts';
import { devicePath } from './parameters.ts';

export const wakeup = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: () => 'any',
    method: 'get',
    path: '/:imei/wakeup',
    operationId: 'wakeCamera',
    summary: 'Wake a camera',
    description: 'Like /wakeup of the Device API.',
    tags: ['Video service'],
    params: devicePath,
    response: wakeupResponse,
    errors: commandErrors,
    handle: ({ params, context }) =>
      wakeUp(deps, { imei: canonicalImei(params.imei) }, createCommandContext(deps, context)),
  });
