import { Button, Group, NativeSelect } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { downloadBlob } from '../../../common/data/download-blob.ts';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { type DocumentType, documentTypes, type StoredDocument, useDocuments, useStoreDocument } from '../queries.ts';

/** Lists the stored files of a driver, which are encrypted; each download is in the audit log. */
export function Documents({ driver }: { driver: Driver }) {
  const { t } = useTranslation('drivers');
  const documents = useDocuments(driver.id);
  return (
    <section className="card" aria-label={t('documents.title')}>
      <h2>{t('documents.title')}</h2>
      {documents.isPending ? <Loading /> : null}
      {documents.isError ? <Failure error={documents.error} onRetry={() => void documents.refetch()} /> : null}
      {documents.data?.length === 0 ? <p>{t('documents.empty')}</p> : null}
      <ul className="row-list" aria-label={t('documents.title')}>
        {documents.data?.map((document) => (
          <DocumentRow key={document.id} document={document} />
        ))}
      </ul>
      <Upload driver={driver} />
    </section>
  );
}

function Upload({ driver }: { driver: Driver }) {
  const { t } = useTranslation('drivers');
  const store = useStoreDocument();
  const input = useRef<HTMLInputElement>(null);
  const [type, setType] = useState<DocumentType>('driver_license');
  const choose = ({ currentTarget }: ChangeEvent<HTMLInputElement>): void => {
    const file = currentTarget.files?.[0];
    currentTarget.value = '';
    if (file !== undefined) store.mutate({ driverId: driver.id, document: { file, type } });
  };
  return (
    <>
      {store.isError ? <Failure error={store.error} /> : null}
      <Group align="flex-end" gap="sm" mt="sm">
        <NativeSelect
          label={t('documents.type')}
          data={documentTypes.map((value) => ({ value, label: t(`documents.types.${value}`) }))}
          value={type}
          onChange={({ currentTarget }) => setType(currentTarget.value as DocumentType)}
        />
        <Button variant="default" loading={store.isPending} onClick={() => input.current?.click()}>
          {t('documents.upload')}
        </Button>
        <input
          ref={input}
          type="file"
          hidden
          aria-label={t('documents.upload')}
          accept="image/jpeg,image/png,image/webp,application/pdf"
          onChange={choose}
        />
      </Group>
    </>
  );
}

function DocumentRow({ document }: { document: StoredDocument }) {
  const { t } = useTranslation('drivers');
  const { api } = useSession();
  const queries = useQueryClient();
  const [isConfirming, setIsConfirming] = useState(false);
  const path = { id: document.id };
  const download = useMutation({
    mutationFn: async () => (await api.GET('/api/documents/{id}/file', { params: { path }, parseAs: 'blob' })).data,
    onSuccess: (file) => {
      const extension = document.mime_type.split('/')[1] ?? '';
      if (file !== undefined) downloadBlob(`${document.document_type}-${document.id}.${extension}`, file);
    },
  });
  const remove = useMutation({
    mutationFn: () => {
      const header = { 'If-Match': `"${document.version}"` };
      return api.DELETE('/api/documents/{id}', { params: { path, header } });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['listDocuments'] }),
  });
  const failed = [download, remove].find(({ isError }) => isError);
  const type = documentTypes.find((known) => known === document.document_type);
  const name = type === undefined ? document.document_type : t(`documents.types.${type}`);
  return (
    <li>
      <span>{name}</span>
      <small>{t('documents.kilobytes', { size: Math.ceil(document.size_bytes / 1_000) })}</small>
      <small>
        <Age timeMs={Date.parse(document.created_at)} />
      </small>
      <Button size="compact-sm" variant="default" loading={download.isPending} onClick={() => download.mutate()}>
        {t('documents.download')}
      </Button>
      {isConfirming ? (
        <>
          <Button size="compact-sm" color="critical" loading={remove.isPending} onClick={() => remove.mutate()}>
            {t('documents.confirm')}
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setIsConfirming(false)}>
            {t('common:action.cancel')}
          </Button>
        </>
      ) : (
        <Button
          size="compact-sm"
          variant="outline"
          color="critical"
          aria-label={t('documents.deleteOf', { name })}
          onClick={() => setIsConfirming(true)}
        >
          {t('common:action.delete')}
        </Button>
      )}
      {failed === undefined ? null : <Failure error={failed.error} />}
    </li>
  );
}
