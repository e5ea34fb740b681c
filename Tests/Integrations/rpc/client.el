;; Signs in through jsonrpc.el as it is.  -*- lexical-binding: t -*-
(require 'jsonrpc)
(let* ((command (append (json-parse-string (getenv "COMMAND")) nil))
       (connection
        (jsonrpc-process-connection
         :name "einlass"
         :process (lambda () (make-process :name "einlass" :command command :connection-type 'pipe
                                           :coding 'utf-8-emacs-unix :noquery t
                                           :stderr (get-buffer-create "*einlass stderr*")))
         :notification-dispatcher
         (lambda (_ method params)
           (when (eq method 'prompt.opened)
             (start-process "browser" nil "curl" "-s" "-L" "-o" "/dev/null" (plist-get params :url))))))
       (call (lambda (method params) (jsonrpc-request connection method params :timeout 30)))
       (results
        (vector
         (funcall call :initialize '(:client (:name "emacs") :capabilities (:prompts ["openURL"])))
         (funcall call :accounts.list '(:limit 10))
         (funcall call :accounts.signIn '(:provider "github" :flowKind "authorizationCode")))))
  (with-temp-file (getenv "RESULTS") (insert (json-serialize results :false-object :json-false))))
