import type { UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import type { DriverField, DriverForm } from './model.ts';
import { type DocumentType, documentTypes, type NewDocument } from './queries.ts';
import { applyReadFields, type ReadDocument, type ReadField, toReadFields } from './reading.ts';

/** What a document filled into the form. */
export interface DocumentReading {
  readonly fields: Partial<Record<DriverField, ReadField>>;
  readonly warnings: readonly string[];
  readonly file: File | null;
  readonly isKept: boolean;
  readonly setIsKept: (isKept: boolean) => void;
  readonly apply: (result: ReadDocument, file: File) => void;
  /** The file, if the user keeps it with the driver. */
  readonly kept: NewDocument | null;
}

interface Reading {
  readonly result: ReadDocument;
  readonly file: File;
}

const isDocumentType = (type: string): type is DocumentType => documentTypes.some((known) => known === type);

/** Fills a form with the fields of a document, which the user checks before saving. */
export function useDocumentReading(form: UseFormReturnType<DriverForm>): DocumentReading {
  const [reading, setReading] = useState<Reading | null>(null);
  const [isKept, setIsKept] = useState(true);
  const type = reading?.result.document_type ?? '';
  return {
    fields: reading === null ? {} : toReadFields(reading.result),
    warnings: reading?.result.warnings ?? [],
    file: reading?.file ?? null,
    isKept,
    setIsKept,
    apply: (result, file) => {
      form.setValues(applyReadFields(form.getValues(), toReadFields(result)));
      setReading({ result, file });
    },
    kept: reading !== null && isKept && isDocumentType(type) ? { file: reading.file, type } : null,
  };
}
