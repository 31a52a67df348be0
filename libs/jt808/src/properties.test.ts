import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { AdditionalItemDefinition } from './additional-item-definition.ts';
import { additionalItemDefinitions, createAdditionalItem, readAdditionalItem } from './additional-items.ts';
import { editions } from './edition.ts';
import { encodeMessage } from './encode-message.ts';
import { readExactly } from './fields/field.ts';
import { formatMessageBody } from './format.ts';
import { decodeBody, encodeBody, type MessageDefinition } from './message.ts';
import {
  createParameter,
  createStructuredParameter,
  type ParameterStructure,
  parameterDefinitions,
  parameterStructures,
  readParameterValue,
} from './parameters.ts';
import { allMessages } from './registry.ts';
import { bodyArbitrary } from './testing/arbitraries.ts';
import { split } from './testing/shared.ts';

fc.configureGlobal(propertySettings);

const cases = allMessages.flatMap((definition) =>
  editions.map((edition) => [definition.name, edition, definition] as [string, typeof edition, MessageDefinition]),
);

describe('every message in every edition', () => {
  it.each(cases)('%s %s: decodes to the encoded body', (_name, edition, definition) => {
    const fields = definition.layouts?.[edition] ?? definition.body;
    fc.assert(
      fc.property(bodyArbitrary(fields, edition), (body) => {
        const wire = encodeBody(definition, body, edition);
        const decoded = decodeBody(definition, wire, edition);
        expect(decoded).toEqual(body);
        expect(encodeBody(definition, decoded, edition)).toEqual(wire);
        expect(Object.keys(formatMessageBody(definition.id, wire, edition))).not.toContain('error');
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  it.each(cases)('%s %s: survives splitting into parts of 100 bytes', (_name, edition, definition) => {
    const fields = definition.layouts?.[edition] ?? definition.body;
    fc.assert(
      fc.property(bodyArbitrary(fields, edition), (body) => {
        const header = { edition, phone: '123456789012', serial: 0xfffe, maxBodyBytes: 100 };
        const frames = split(encodeMessage(definition, body, header)).frames;
        expect(Buffer.concat(frames.map((frame) => frame.body))).toEqual(encodeBody(definition, body, edition));
        expect(frames.map((frame) => frame.serial)).toEqual(frames.map((_frame, index) => (0xfffe + index) & 0xffff));
        expect(frames.length > 1).toBe(frames[0]?.subpackage !== null);
      }),
      { numRuns: propertyRuns(5) },
    );
  });
});

it.each(Object.entries<AdditionalItemDefinition>(additionalItemDefinitions))(
  'the item %s decodes to the encoded value',
  (_name, definition) => {
    fc.assert(
      fc.property(bodyArbitrary(definition.fields, '2019'), (values) => {
        const extra = createAdditionalItem(definition, values);
        const isStandard =
          typeof definition.lengths === 'function'
            ? definition.lengths(extra.bytes.length)
            : definition.lengths.includes(extra.bytes.length);
        expect(readAdditionalItem(definition, extra)).toEqual(isStandard ? values : undefined);
      }),
      { numRuns: propertyRuns(60) },
    );
  },
);

it.each(
  [...parameterDefinitions.values()].filter(({ type }) => type !== 'BYTES').map((row) => [row.name, row] as const),
)('the parameter %s decodes to the encoded value', (_name, { id, type }) => {
  const max = type === 'BYTE' ? 0xff : type === 'WORD' ? 0xffff : 0xffff_ffff;
  const value = type === 'STRING' ? fc.constantFrom('', 'host:7808;b:1', '京A12345') : fc.integer({ min: 0, max });
  fc.assert(
    fc.property(value, (given: string | number) => {
      expect(readParameterValue(createParameter(id, given))).toBe(given);
    }),
    { numRuns: propertyRuns(20) },
  );
});

it.each(Object.entries<ParameterStructure>(parameterStructures))(
  'the structure %s decodes to the encoded value',
  (_name, structure) => {
    fc.assert(
      fc.property(bodyArbitrary(structure.fields, '2019'), (values) => {
        const item = createStructuredParameter(structure, values);
        const wire = createStructuredParameter(structure, readExactly(structure.fields, item.bytes, '2019') ?? {});
        expect(wire.bytes.equals(item.bytes)).toBe(true);
      }),
      { numRuns: propertyRuns(40) },
    );
  },
);
