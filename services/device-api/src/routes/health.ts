import { defineRoute, Reply } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { checkComponents } from '../use-cases/check-health.ts';

const component = (description: string) => Type.Boolean({ description, examples: [true] });

const healthCheckResponse = Type.Object(
  {
    healthy: Type.Boolean({ description: 'True only when every component is healthy.', examples: [true] }),
    components: Type.Object(
      {
        state_store: component('Live device state store.'),
        message_broker: component('Carries commands to devices.'),
        database: component('Database of uploads.'),
        upload_server: component('FTP server that receives uploaded videos.'),
        jt808_server: component('Server that devices connect to for commands and location.'),
        jt1078_server: component('Server that cameras stream video to.'),
      },
      { title: 'ComponentHealth', additionalProperties: false, description: 'True means reachable and working.' },
    ),
  },
  { title: 'HealthCheckResponse', additionalProperties: false },
);

const unhealthyExample = {
  healthy: false,
  components: {
    state_store: true,
    message_broker: true,
    database: true,
    upload_server: true,
    jt808_server: false,
    jt1078_server: true,
  },
};

export const health = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/health',
    operationId: 'getHealth',
    summary: 'Check the service and its components',
    description: '200 when every component is healthy, else 503 with the same body. Needs no key.',
    tags: ['Utilities'],
    response: healthCheckResponse,
    errors: {
      429: 'Too many requests.',
      503: {
        description: 'A component is unhealthy; `components` says which.',
        schema: healthCheckResponse,
        example: unhealthyExample,
      },
    },
    isSecured: false,
    bucket: 'health',
    handle: async () => {
      const components = await checkComponents(deps);
      const healthy = Object.values(components).every(Boolean);
      return new Reply(healthy ? 200 : 503, {
        healthy,
        components: {
          state_store: components.stateStore,
          message_broker: components.messageBroker,
          database: components.database,
          upload_server: components.uploadServer,
          jt808_server: components.jt808Server,
          jt1078_server: components.jt1078Server,
        },
      });
    },
  });
