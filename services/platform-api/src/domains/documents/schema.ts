import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import type { FormFile } from '../../platform/forms.ts';
import { nullable, recordId, recordProperties } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** Kinds of documents and the fields of each (docs/reference/documents-and-messages.md). */
export const documentTypes = ['driver_license', 'passport', 'id_card', 'vehicle_registration', 'insurance'] as const;
export type DocumentType = (typeof documentTypes)[number];

export type FieldSource = 'mrz' | 'barcode' | 'text' | 'ocr';

/** An extracted field. */
export interface Field {
  readonly value: string;
  readonly confidence: number;
  readonly source: FieldSource;
}

/** A file that the caller asked to store. Its content is a separate record, so that lists do not read it. */
export interface StoredDocument extends AccountRecord {
  readonly documentType: DocumentType;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly createdBy: number;
  /** The driver whose document it is; absent on records stored before this field existed. */
  readonly driverId?: number | null;
}

/** The bytes of a stored document, sealed for the purpose `document <id>`. */
export interface DocumentFile {
  /** The id of the document. */
  readonly _id: number;
  readonly accountId: number;
  readonly sealed: Buffer;
}

export const documentResponse = Type.Object(
  {
    ...recordProperties,
    document_type: stringEnum(documentTypes),
    mime_type: Type.String(),
    size_bytes: Type.Integer({ minimum: 0 }),
    created_by: recordId,
    driver_id: nullable(recordId),
    url: Type.String({ description: 'Path of the file. It requires the same credentials.' }),
  },
  { title: 'StoredDocument' },
);
export type DocumentResponse = Static<typeof documentResponse>;

export const listDocumentsQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'created_at']),
  document_type: Type.Optional(stringEnum(documentTypes, { description: 'Return only documents of this kind.' })),
  driver_id: Type.Optional(recordId),
});
export type ListDocumentsQuery = Static<typeof listDocumentsQuery>;

export const mimeTypes = ['image/jpeg', 'image/png', 'image/webp', 'application/pdf'] as const;

const fileFields = {
  file: Type.Optional(
    Type.Unsafe<FormFile>({
      description: 'Part of multipart/form-data: JPEG, PNG, WebP, or PDF with up to 5 pages. At most 10 MiB.',
    }),
  ),
  content_base64: Type.Optional(
    Type.String({ maxLength: 14_000_000, description: 'The file in base64, for JSON bodies.' }),
  ),
  mime_type: Type.Optional(Type.String({ maxLength: 100 })),
};

export const createDocumentBody = Type.Object({
  ...fileFields,
  document_type: stringEnum(documentTypes),
  driver_id: Type.Optional(recordId),
});
export type CreateDocumentBody = Static<typeof createDocumentBody>;

export const extractBody = Type.Object({
  ...fileFields,
  text: Type.Optional(
    Type.String({
      maxLength: 100_000,
      description: 'Text that the client has read: plain text, MRZ lines, or a PDF417 barcode.',
    }),
  ),
  document_type: Type.Optional(stringEnum(['auto', ...documentTypes], { description: 'Default: auto.' })),
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2,3}$',
      errorMessage: 'must be a country code of 2 or 3 letters, such as IN',
      description: 'ISO 3166 code.',
    }),
  ),
  store: Type.Optional(Type.Boolean({ description: 'Store the file, encrypted. Default: false.' })),
});
export type ExtractBody = Static<typeof extractBody>;

export const extractResult = Type.Object(
  {
    document_type: Type.String(),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    fields: Type.Record(
      Type.String(),
      Type.Object({
        value: Type.String(),
        confidence: Type.Number({ minimum: 0, maximum: 1 }),
        source: stringEnum(['mrz', 'barcode', 'text', 'ocr']),
      }),
    ),
    mrz: nullable(
      Type.Object({
        format: stringEnum(['TD1', 'TD2', 'TD3']),
        lines: Type.Array(Type.String()),
        valid: Type.Boolean(),
      }),
    ),
    engine: Type.String(),
    pages: Type.Integer({ minimum: 1 }),
    warnings: Type.Array(Type.String()),
    document_id: nullable(Type.Integer({ minimum: 1, description: 'Id of the stored file, if `store` was set.' })),
    duration_ms: Type.Integer({ minimum: 0 }),
  },
  { title: 'ExtractResult' },
);
export type ExtractResult = Static<typeof extractResult>;
