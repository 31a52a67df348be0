import type { requestSchemas } from '@fleet/api-client/request-schemas';
import { useTranslation } from 'react-i18next';
import { findFaults } from './find-faults.ts';

/** Returns a function that checks a request body and returns one sentence for each field with a fault. */
export function useFormErrors(operation: keyof typeof requestSchemas) {
  const { t } = useTranslation();
  return (body: Readonly<Record<string, unknown>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(findFaults(operation, body)).map(([field, { rule, limit }]) => [
        field,
        t(`fault.${rule}`, { limit }),
      ]),
    );
}
