import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { wakeUp } from '../use-cases/wake-up.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import { deviceQuery } from './parameters.ts';
import { commandErrors } from './responses.ts';

export const wakeupResponse = Type.Object(
  { result: Type.Literal('success', { description: 'The device responded.' }) },
  { title: 'WakeupResponse', additionalProperties: false },
);

export const wakeup = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'get',
    path: '/wakeup',
    operationId: 'wakeUp',
    summary: 'Wake a sleeping device',
    description: 'A sleeping device ignores every other command. Success means that it has responded.',
    tags: ['Utilities'],
    query: deviceQuery,
    response: wakeupResponse,
    errors: commandErrors,
    handle: ({ query, context }) =>
      wakeUp(deps, { imei: canonicalImei(query.imei) }, createCommandContext(deps, context)),
  });
