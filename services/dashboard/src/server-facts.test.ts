import { requestSchemas } from '@fleet/api-client/request-schemas';
import { describe, expect, it } from '@jest/globals';
import { rolesGivenBy } from './scenes/account/roles.ts';
import { type CommandField, commandFields, commandTypes } from './scenes/vehicle/commands/command-fields.ts';
import { isCritical } from './scenes/vehicle/commands/model.ts';
import { fuelTypes, vehicleTypes } from './scenes/vehicle/settings/model.ts';

/** The parts of a JSON schema that fields of a form repeat. */
interface FieldSchema {
  readonly type: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

const vehicle = requestSchemas.createVehicle.properties;
const command = requestSchemas.createCommand.properties;
const paramsByType: Readonly<Record<string, FieldSchema>> = command.params['x-params-by-type'];
const critical = command.params['x-critical-commands'];

const withoutNull = (values: readonly unknown[]): unknown[] => values.filter((value) => value !== null);

/** Returns the parameters of a command with those of its options. */
function readParams(type: string): Readonly<Record<string, FieldSchema>> {
  const properties = paramsByType[type]?.properties ?? {};
  return { ...properties, ...properties['options']?.properties };
}

/** Returns what the server expects in a field, in the words of the form. */
function toExpected(field: CommandField, schema: FieldSchema | undefined): Partial<Record<string, unknown>> {
  switch (field.kind) {
    case 'text':
      return { maxLength: schema?.maxLength ?? field.maxLength };
    case 'choice':
      return { values: schema?.enum ?? field.values };
    case 'word':
      return { values: schema?.enum };
    case 'number':
      return { min: Math.max(field.min, schema?.minimum ?? 0), max: Math.min(field.max, schema?.maximum ?? 0) };
    default:
      return {};
  }
}

const schemaTypes = { flag: 'boolean', number: 'integer', choice: 'integer', word: 'string', time: 'string' } as const;

it('the form of a vehicle has the types of vehicle and fuel that the API accepts', () => {
  expect(vehicleTypes).toEqual(withoutNull(vehicle.vehicle_type.enum));
  expect(fuelTypes).toEqual(withoutNull(vehicle.fuel_type.enum));
});

it('each role offers the roles that the API lets it assign', () => {
  const rolesByCaller = requestSchemas.createUser.properties.role['x-roles-by-caller'];
  const offered = Object.keys(rolesByCaller).map((role) => [role, rolesGivenBy(role as keyof typeof rolesByCaller)]);
  expect(Object.fromEntries(offered)).toEqual(rolesByCaller);
});

describe('the forms of commands', () => {
  it('exist for each type that the API accepts', () => {
    expect([...commandTypes].toSorted()).toEqual([...command.type.enum].toSorted());
    expect([...commandTypes].toSorted()).toEqual(Object.keys(paramsByType).toSorted());
  });

  it.each(commandTypes)('have only fields, limits and choices of the API for %s', (type) => {
    const params = readParams(type);
    const expected = commandFields[type].map((field) => ({ ...field, ...toExpected(field, params[field.name]) }));
    expect(commandFields[type]).toEqual(expected);
    for (const field of commandFields[type]) {
      const schemaType = field.kind in schemaTypes ? schemaTypes[field.kind as keyof typeof schemaTypes] : undefined;
      expect(params[field.name]).toMatchObject(schemaType === undefined ? {} : { type: schemaType });
    }
  });

  it.each(commandTypes)('require each parameter that the API requires for %s', (type) => {
    const isOptional = (field: CommandField): boolean => field.kind === 'text' && field.isOptional === true;
    const namesInForm = commandFields[type].filter((field) => !isOptional(field)).map(({ name }) => name);
    expect(namesInForm).toEqual(expect.arrayContaining([...(paramsByType[type]?.required ?? [])]));
  });

  it('are restricted to owners and admins where the API restricts the command', () => {
    const restrictedTypes = commandTypes.filter((type) => isCritical(type, { command: 0, parameters: [] }));
    expect(restrictedTypes).toEqual(critical.types);
    const controls = Array.from({ length: 256 }, (_, code) => code).filter((code) =>
      isCritical('control', { command: code }),
    );
    expect(controls).toEqual(critical.controls);
    const parameters = Array.from({ length: 0x200 }, (_, id) => id).filter((id) =>
      isCritical('set_parameters', { parameters: [{ id }] }),
    );
    expect(parameters).toEqual(
      critical.parameterRanges.flatMap(([first = 0, last = 0]) =>
        Array.from({ length: last - first + 1 }, (_, at) => first + at),
      ),
    );
  });
});
