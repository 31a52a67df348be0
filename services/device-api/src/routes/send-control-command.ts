import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { maxControlParameterBytes } from '../domain/control-parameters.ts';
import { sendControlCommand as sendControlCommandToDevice } from '../use-cases/send-control-command.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import { deviceQuery } from './parameters.ts';
import { bodyErrors, terminalGeneralResponse, toGeneralResponseBody } from './responses.ts';

const body = Type.Object(
  {
    command: Type.Integer({
      minimum: 0,
      maximum: 255,
      description:
        '1 firmware upgrade, 2 connect to another server, 3 power off, 4 restart, 5 factory reset, 6 stop data communication, 7 stop all wireless communication; other values are sent unchanged.',
      examples: [4],
    }),
    parameters: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: maxControlParameterBytes,
        errorMessage: `must be null or a string of at most ${maxControlParameterBytes} characters`,
        description:
          'Arguments separated by ";". Command 1: URL; APN; user name; password; address; TCP port; UDP port; manufacturer id; hardware version; firmware version; time limit in minutes. Command 2: connection control (0 connect, 1 back to the own server, nothing follows then); authentication code; APN; user name; password; address; TCP port; UDP port; time limit in minutes (0: stay). Each may be empty, and those at the end left out. To be left out with commands 3 to 7; passed on as they are with other values.',
        examples: ['0;;cmnet;;;fleet.example.com;7808;0;60'],
      }),
    ),
  },
  { title: 'SendCtrlCmd' },
);

export const sendControlCommand = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'post',
    path: '/send-control-command',
    operationId: 'sendControlCommand',
    summary: 'Send a terminal control command',
    description:
      'After commands 2, 4 and 5 a device disconnects, sometimes before it responds. Devices of edition 2019 support only these three.',
    tags: ['Utilities'],
    query: deviceQuery,
    body,
    response: terminalGeneralResponse,
    errors: bodyErrors,
    handle: async ({ query, body: { command, parameters = null }, context }) => {
      const request = { imei: canonicalImei(query.imei), command, parameters };
      return toGeneralResponseBody(
        await sendControlCommandToDevice(deps, request, createCommandContext(deps, context)),
      );
    },
  });
