import { createApiDocument } from './api-document.ts';

/** The parts of the OpenAPI document that a request consists of. */
interface OpenApiDocument {
  info: { title: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
}
interface Operation {
  summary: string;
  description?: string;
  tags: string[];
  security: object[];
  parameters: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  /** Without a description: the common responses of every request. */
  responses: Record<string, ResponseObject>;
}
interface ResponseObject {
  description?: string;
  content?: Record<string, { example?: unknown }>;
}
interface Parameter {
  name: string;
  required: boolean;
  description?: string;
  example?: Primitive;
  schema: Schema;
}
interface Schema {
  examples?: Primitive[];
  default?: Primitive;
  enum?: Primitive[];
}
type Primitive = string | number | boolean;

/** Variables that a partner sets once; requests name them as `{{imei}}`. */
const variables: Record<string, { value: string; description: string }> = {
  base_url: { value: 'http://127.0.0.1:8080', description: 'Address of the service; by default that of npm start.' },
  api_key: { value: '', description: 'Sent as x-api-key. Ignored if the service requires no keys.' },
  imei: { value: '013800138001', description: 'Terminal number of 12 or 20 digits.' },
  channel: { value: '1', description: 'Camera channel.' },
  start_time: { value: '2026-08-01T02:00:00Z', description: 'In any offset; write + as %2B.' },
  end_time: { value: '2026-08-01T02:05:00Z', description: 'In any offset; write + as %2B.' },
  video_id: { value: '', description: 'Set from the response of /videos/upload.' },
};

/** Returns the Device API as a Postman collection (format 2.1), generated from the OpenAPI document. */
export function createPostmanCollection(): Record<string, unknown> {
  const { info, tags, paths } = createApiDocument() as unknown as OpenApiDocument;
  const orderedItems = Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        tag: operation.tags[0],
        isLast: method === 'delete',
        item: toItem(method, path, operation),
      })),
    )
    // A run of the folder from top to bottom still needs what this request would delete.
    .toSorted((a, b) => Number(a.isLast) - Number(b.isLast));
  return {
    info: {
      name: info.title,
      description: info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: {
      type: 'apikey',
      apikey: Object.entries({ in: 'header', key: 'x-api-key', value: '{{api_key}}' }).map(([key, value]) => ({
        key,
        value,
        type: 'string',
      })),
    },
    variable: Object.entries(variables).map(([key, { value, description }]) => ({ key, value, description })),
    item: tags.map(({ name, description }) => ({
      name,
      description,
      item: orderedItems.filter(({ tag }) => tag === name).map(({ item }) => item),
    })),
  };
}

function toItem(method: string, path: string, operation: Operation): Record<string, unknown> {
  const query = operation.parameters.map((parameter) => toQueryParameter(parameter));
  const enabledQuery = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`);
  const body = operation.requestBody?.content['application/json']?.example;
  const responses = Object.entries(operation.responses).flatMap(([status, { description }]) =>
    description === undefined ? [] : [`- ${status}: ${description}`],
  );
  return {
    name: operation.summary,
    ...(path.endsWith('/videos/upload') ? { event: [saveVideoIdEvent] } : {}),
    request: {
      method: method.toUpperCase(),
      description: [operation.description, responses.join('\n')].filter(Boolean).join('\n\n'),
      ...(operation.security.length === 0 ? { auth: { type: 'noauth' } } : {}),
      ...(body === undefined ? {} : jsonBody(body)),
      url: {
        raw: `{{base_url}}${path}${enabledQuery.length === 0 ? '' : `?${enabledQuery.join('&')}`}`,
        host: ['{{base_url}}'],
        path: path.slice(1).split('/'),
        query,
      },
    },
    response: Object.entries(operation.responses).flatMap(([status, response]) => toSavedResponse(status, response)),
  };
}

/** Returns the example of a response, which Postman displays beside the request. */
function toSavedResponse(status: string, { description, content }: ResponseObject): Record<string, unknown>[] {
  const example = content?.['application/json']?.example;
  if (example === undefined) return [];
  return [
    {
      name: `${status}: ${description ?? ''}`,
      code: Number(status),
      header: [{ key: 'Content-Type', value: 'application/json' }],
      body: JSON.stringify(example, null, 2),
      _postman_previewlanguage: 'json',
    },
  ];
}

// Optional parameters are disabled.
function toQueryParameter({ name, required, description, example, schema }: Parameter) {
  const value = name in variables ? `{{${name}}}` : String(example ?? getExample(schema) ?? '');
  return { key: name, value, ...(description === undefined ? {} : { description }), disabled: !required };
}

const getExample = ({ examples, default: defaultValue, enum: choices }: Schema): Primitive | undefined =>
  examples?.[0] ?? defaultValue ?? choices?.[0];

const jsonBody = (example: unknown): Record<string, unknown> => ({
  header: [{ key: 'Content-Type', value: 'application/json' }],
  body: { mode: 'raw', raw: JSON.stringify(example, null, 2), options: { raw: { language: 'json' } } },
});

const saveVideoIdEvent = {
  listen: 'test',
  script: {
    type: 'text/javascript',
    exec: ["if (pm.response.code === 200) pm.collectionVariables.set('video_id', pm.response.json().video_id);"],
  },
};
