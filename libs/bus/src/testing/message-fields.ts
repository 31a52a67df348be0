/** Type of each field by its path; `?` after it means that the field may be absent. */
type MessageFields = Readonly<Record<string, string>>;

/** Fields of the payloads of a release, by subject and part, such as `platform-api.verify-key request`. */
export type ReleaseMessages = Readonly<Record<string, MessageFields>>;

/** The members of JSON Schema that the contracts use. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

const parts = ['request', 'reply', 'schema'] as const;
type Contract = { readonly subject: string } & Readonly<Partial<Record<(typeof parts)[number], Schema>>>;

const isContract = (value: unknown): value is Contract =>
  typeof value === 'object' && value !== null && 'subject' in value && parts.some((part) => part in value);

/** Returns the fields of all contracts that a module exports. */
export function listMessages(exported: Readonly<Record<string, unknown>>): ReleaseMessages {
  const contracts = Object.values(exported).filter(isContract);
  const messages = contracts.flatMap((contract) =>
    parts.flatMap((part) => {
      const schema = contract[part];
      return schema === undefined ? [] : [[`${contract.subject} ${part}`, listFields(schema)] as const];
    }),
  );
  return Object.fromEntries(messages.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const listFields = (schema: Schema): MessageFields => Object.fromEntries(collectFields(schema, '', ''));

function collectFields(schema: Schema, path: string, suffix: string): [string, string][] {
  const own: [string, string] = [path, `${describeType(schema)}${suffix}`];
  const variants = (schema.anyOf ?? []).filter(({ properties }) => properties !== undefined);
  return [
    own,
    ...collectProperties(schema, path),
    ...(schema.allOf ?? []).flatMap((part) => collectProperties(part, path)),
    ...(schema.items === undefined ? [] : collectFields(schema.items, `${path}[]`, '')),
    ...variants.flatMap((variant, index) => collectProperties(variant, `${path}{${nameVariant(variant, index)}}`)),
  ];
}

const collectProperties = ({ properties = {}, required = [] }: Schema, path: string): [string, string][] =>
  Object.entries(properties).flatMap(([name, property]) =>
    collectFields(property, `${path}/${name}`, required.includes(name) ? '' : '?'),
  );

/** Returns the constants that identify a variant of a union, or its number. */
function nameVariant({ properties = {} }: Schema, index: number): string {
  const constants = Object.entries(properties).filter(([, property]) => property.const !== undefined);
  return constants.map(([name, property]) => `${name}=${String(property.const)}`).join(',') || String(index);
}

function describeType(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join('|');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(describeType))].join('|');
  return schema.type ?? 'any';
}

const isOptional = (type: string): boolean => type.endsWith('?');
const getTypes = (type: string): string[] => type.replace(/\?$/, '').split('|');
const getParent = (path: string): string => path.replace(/(?:\/[^/]*|\[\]|\{[^}]*\})$/, '');

/** Returns why processes of two releases cannot exchange messages, one line each; empty if they can. */
export function findIncompatibilities(former: ReleaseMessages, current: ReleaseMessages): string[] {
  return Object.entries(former).flatMap(([name, formerFields]) => {
    const currentFields = current[name];
    if (currentFields === undefined) return [`${name}: the former release uses it`];
    const paths = new Set([...Object.keys(formerFields), ...Object.keys(currentFields)]);
    return [...paths].flatMap((path) => {
      const reason = compareField(path, formerFields, currentFields);
      return reason === undefined ? [] : [`${name} ${path}: ${reason}`];
    });
  });
}

function compareField(path: string, formerFields: MessageFields, currentFields: MessageFields): string | undefined {
  const [former, current] = [formerFields[path], currentFields[path]];
  if (former === undefined) {
    const isNewPart = formerFields[getParent(path)] === undefined;
    const isRequired = current !== undefined && !isOptional(current);
    return isRequired && !isNewPart && path.includes('/') ? 'the former release does not send it' : undefined;
  }
  if (current === undefined) return isOptional(former) ? undefined : 'the former release requires it';
  if (!isOptional(former) && isOptional(current)) return 'the former release requires it';
  if (isOptional(former) && !isOptional(current)) return 'the former release may omit it';
  const missing = getTypes(former).filter((type) => !getTypes(current).includes(type));
  return missing.length === 0 ? undefined : `the former release sends ${missing.join(' or ')}`;
}
