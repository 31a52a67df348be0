import { Drawer, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { useSendOnce } from '../../../common/forms/use-send-once.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type DriverForm, emptyForm, toChange, toFormErrors } from '../model.ts';
import { useStoreDocument } from '../queries.ts';
import { useDocumentReading } from '../use-document-reading.ts';
import { DriverFields } from './driver-fields.tsx';
import { ReadDocument } from './read-document.tsx';

interface AddDriverProps {
  readonly onClose: () => void;
  readonly onAdded: (driver: Driver) => void;
}

/** Creates a driver, with fields that a document may fill. */
export function AddDriver({ onClose, onAdded }: AddDriverProps) {
  const { t } = useTranslation('drivers');
  const { api } = useSession();
  const queries = useQueryClient();
  const send = useSendOnce({ keepsKey: true });
  const findErrors = useFormErrors('createDriver');
  const toBody = (values: DriverForm) => ({ ...toChange(emptyForm, values), name: values.name.trim() });
  const form = useForm<DriverForm>({
    initialValues: emptyForm,
    validate: (values) => toFormErrors(findErrors(toBody(values))),
  });
  const reading = useDocumentReading(form);
  const store = useStoreDocument();
  const create = useMutation({
    // A repeated click creates one driver: the key stays, even if only the file could not be stored.
    mutationFn: async (values: DriverForm) => {
      const body = toBody(values);
      const { data } = await send(body, (header) => api.POST('/api/drivers', { body, params: { header } }));
      if (data === undefined) throw new Error('The server returned no driver.');
      const driver = data.data;
      if (reading.kept !== null) await store.mutateAsync({ driverId: driver.id, document: reading.kept });
      return driver;
    },
    onSuccess: async (driver) => {
      onAdded(driver);
      await queries.invalidateQueries({ queryKey: ['listDrivers'] });
    },
    onError: (error) => form.setErrors(toFormErrors(toFieldErrors(error))),
  });
  const isFieldFault = create.isError && Object.keys(toFieldErrors(create.error)).length > 0;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={t('add')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={form.onSubmit((values) => create.mutate(values))} noValidate>
        <Stack>
          <ReadDocument reading={reading} />
          <DriverFields form={form} read={reading.fields} />
          {create.isError && !isFieldFault ? <Failure error={create.error} /> : null}
          <FormButtons isSaving={create.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Drawer>
  );
}
