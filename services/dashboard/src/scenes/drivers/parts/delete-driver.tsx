import { Button, Checkbox, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { isTypedName, TypedName } from '../../../common/forms/typed-name.tsx';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { useDocuments } from '../queries.ts';

/** Deletes the driver after the name was typed, with the stored documents unless the user keeps them. */
export function DeleteDriver({ driver, onDeleted }: { driver: Driver; onDeleted: () => void }) {
  const { t } = useTranslation('drivers');
  const { api } = useSession();
  const queries = useQueryClient();
  const { data: documents = [] } = useDocuments(driver.id);
  const [typed, setTyped] = useState('');
  const [withDocuments, setWithDocuments] = useState(true);
  const remove = useMutation({
    mutationFn: async () => {
      // The papers come first: without the driver no page would list them.
      if (withDocuments)
        for (const { id } of documents) await api.DELETE('/api/documents/{id}', { params: { path: { id } } });
      const header = { 'If-Match': `"${driver.version}"` };
      await api.DELETE('/api/drivers/{id}', { params: { path: { id: driver.id }, header } });
    },
    onSuccess: async () => {
      onDeleted();
      queries.removeQueries({ queryKey: ['getDriver', driver.id] });
      await Promise.all(
        ['listDrivers', 'listVehicles', 'getVehicle'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      );
    },
    onError: () => queries.invalidateQueries({ queryKey: ['listDocuments', driver.id] }),
  });
  return (
    <section className="card" aria-label={t('delete.title')}>
      <h2>{t('delete.title')}</h2>
      <Stack gap="sm" maw={420}>
        <p>{t('delete.text')}</p>
        {documents.length === 0 ? null : (
          <Checkbox
            label={t('delete.documents', { count: documents.length })}
            checked={withDocuments}
            onChange={({ currentTarget }) => setWithDocuments(currentTarget.checked)}
          />
        )}
        {remove.isError ? <Failure error={remove.error} /> : null}
        <TypedName name={driver.name} value={typed} onChange={setTyped} />
        <Button
          color="critical"
          disabled={!isTypedName(driver.name, typed)}
          loading={remove.isPending}
          onClick={() => remove.mutate()}
        >
          {t('delete.button')}
        </Button>
      </Stack>
    </section>
  );
}
